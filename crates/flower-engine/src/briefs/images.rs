//! Images such as screenshots. Their type is read from the content, never from the name.

use crate::Briefs;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::event::Image;
use imagesize::ImageType;

pub const MAX_BYTES: usize = 10 * 1024 * 1024;
/// Maximum width and height. A larger image is no screenshot, but may be an attack on its decoder.
const MAX_PIXELS: usize = 30_000;

impl Briefs {
    /// Stores an image and returns its description.
    pub async fn put_image(&self, bytes: Vec<u8>) -> Result<Image, Problem> {
        let blobs = self.store.blobs().clone();
        let stored = tokio::task::spawn_blocking(move || {
            let mut image = describe(&bytes)?;
            image.sha256 = blobs.put(&bytes)?;
            Ok(image)
        });
        stored.await.map_err(|error| Problem::bug(error.to_string()))?
    }

    /// A stored image and its description.
    pub async fn image(&self, sha256: &str) -> Result<(Image, Vec<u8>), Problem> {
        let blobs = self.store.blobs().clone();
        let name = sha256.to_owned();
        let found = tokio::task::spawn_blocking(move || blobs.get(&name).map(|bytes| (name, bytes)));
        let (name, bytes) = found.await.map_err(|error| Problem::bug(error.to_string()))??;
        let Some(bytes) = bytes else {
            return Err(Problem::new(
                ProblemKind::NotFound,
                format!("there is no picture `{name}`"),
                "upload it first: POST /api/images",
            ));
        };
        let image = Image { sha256: name, ..describe(&bytes)? };
        Ok((image, bytes))
    }

    pub(super) async fn images(&self, hashes: &[String]) -> Result<Vec<Image>, Problem> {
        let mut images = Vec::new();
        for hash in hashes {
            images.push(self.image(hash).await?.0);
        }
        Ok(images)
    }
}

fn describe(bytes: &[u8]) -> Result<Image, Problem> {
    if bytes.len() > MAX_BYTES {
        return Err(Problem::new(
            ProblemKind::TooLarge,
            format!("the picture has {} bytes; {MAX_BYTES} are allowed", bytes.len()),
            "make it smaller and try again; nothing was stored",
        ));
    }
    let wrong = |what: &str| {
        Problem::new(ProblemKind::Invalid, what.to_owned(), "PNG, JPEG, WebP and GIF are accepted; nothing was stored")
    };
    let media_type = match imagesize::image_type(bytes) {
        Ok(ImageType::Png) => "image/png",
        Ok(ImageType::Jpeg) => "image/jpeg",
        Ok(ImageType::Webp) => "image/webp",
        Ok(ImageType::Gif) => "image/gif",
        _ => return Err(wrong("that is no picture of a known type")),
    };
    let size = imagesize::blob_size(bytes).map_err(|_| wrong("the picture is damaged: its size cannot be read"))?;
    if size.width == 0 || size.height == 0 || size.width > MAX_PIXELS || size.height > MAX_PIXELS {
        return Err(wrong(&format!("the picture says that it is {} × {} pixels", size.width, size.height)));
    }
    Ok(Image {
        sha256: String::new(),
        media_type: media_type.to_owned(),
        bytes: bytes.len() as u64,
        width: size.width as u64,
        height: size.height as u64,
    })
}
