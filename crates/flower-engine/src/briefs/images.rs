//! Screenshots: what they are is read from their content, never from their name.

use crate::Briefs;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::event::Image;
use imagesize::ImageType;

pub const MOST_BYTES: usize = 10 * 1024 * 1024;
/// Wider or higher is no screenshot but an attempt on whoever decodes it.
const MOST_PIXELS: usize = 30_000;

impl Briefs {
    /// Stores a picture and describes it.
    pub async fn put_image(&self, bytes: Vec<u8>) -> Result<Image, Problem> {
        let blobs = self.store.blobs().clone();
        let stored = tokio::task::spawn_blocking(move || {
            let mut image = describe(&bytes)?;
            image.sha256 = blobs.put(&bytes)?;
            Ok(image)
        });
        stored.await.map_err(|error| Problem::bug(error.to_string()))?
    }

    /// What a stored picture is; for notes that refer to it by hash.
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
    if bytes.len() > MOST_BYTES {
        return Err(Problem::new(
            ProblemKind::TooLarge,
            format!("the picture has {} bytes; {MOST_BYTES} are allowed", bytes.len()),
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
        _ => return Err(wrong("that is no picture, whatever its name says")),
    };
    let size = imagesize::blob_size(bytes).map_err(|_| wrong("the picture is damaged: its size cannot be read"))?;
    if size.width == 0 || size.height == 0 || size.width > MOST_PIXELS || size.height > MOST_PIXELS {
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
