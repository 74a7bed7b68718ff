//! Reads single values of `flower.toml`, and names the form that is meant if a value has another one.

use flower_contract::view::NetworkMode;
use flower_core::pattern::Pattern;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use std::time::Duration;

/// A number and `s`, `m` or `h`.
pub(super) fn duration<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    flower_core::boot_time::seconds(&text).map(Duration::from_secs).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is no time such as `90s`, `10m` or `1h`, up to a day"))
    })
}

pub(super) fn fraction<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let part = f64::deserialize(from)?;
    match part > 0.0 && part <= 1.0 {
        true => Ok(part),
        false => Err(serde::de::Error::custom(format!("`{part}` is no part such as `0.8`: above 0, up to 1"))),
    }
}

/// More would only make the machine slower.
const MAX_PARALLEL: usize = 32;

pub(super) fn parallel<'de, D: serde::Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let count = usize::deserialize(from)?;
    match (1..=MAX_PARALLEL).contains(&count) {
        true => Ok(count),
        false => Err(serde::de::Error::custom(format!("`parallel` is {count}; it must be from 1 to {MAX_PARALLEL}"))),
    }
}

pub(super) fn patterns<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Pattern>, D::Error> {
    let List(texts) = Expected::<List>::new("a list of paths such as `[\"src/**\", \"Cargo.lock\"]`").read(from)?;
    if texts.is_empty() {
        return Err(serde::de::Error::custom("`paths` is empty, so the check would never run; leave `paths` out"));
    }
    let parsed = texts.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>();
    parsed.map_err(|refusal| serde::de::Error::custom(refusal.to_string()))
}

pub(super) fn network<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<NetworkMode>, D::Error> {
    Expected::<NetworkMode>::new("`\"closed\"`, `\"web\"` or `\"open\"`").read(from).map(Some)
}

/// A list of texts.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct List(pub Vec<String>);

/// Reads a value, and names what was expected if it has another form.
pub(super) struct Expected<T> {
    what: &'static str,
    of: std::marker::PhantomData<T>,
}

impl<'de, T: Deserialize<'de> + Form> Expected<T> {
    pub(super) fn new(what: &'static str) -> Expected<T> {
        Expected { what, of: std::marker::PhantomData }
    }

    fn read<D: serde::Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

/// Which forms a type can be read from; all others are refused.
pub(super) trait Form {
    const TEXT: bool = false;
    const LIST: bool = false;
    const TABLE: bool = false;
}

impl Form for List {
    const LIST: bool = true;
}

impl Form for NetworkMode {
    const TEXT: bool = true;
}

impl<'de, T: Deserialize<'de> + Form> serde::de::Visitor<'de> for Expected<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        match T::TEXT {
            true => T::deserialize(StrDeserializer::new(text)),
            false => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        match T::LIST {
            true => T::deserialize(SeqAccessDeserializer::new(list)),
            false => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &self)),
        }
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        match T::TABLE {
            true => T::deserialize(MapAccessDeserializer::new(map)),
            false => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Map, &self)),
        }
    }
}

/// Reads a value of `[checks]`, whose form depends on its key.
impl<'de, T: Deserialize<'de> + Form> serde::de::DeserializeSeed<'de> for Expected<T> {
    type Value = T;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        self.read(from)
    }
}
