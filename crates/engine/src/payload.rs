//! What the host sends: a request and the settings, in one document.

use crate::request::UnreadableRequest;
use crate::response::Response;
use image_admission_settings::{InvalidSettings, Settings};
use image_admission_untrusted::json::from_json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The host's document, with the settings unread or read as JSON.
#[derive(Deserialize)]
#[serde(expecting = "an object with a request and settings", bound(deserialize = "S: Deserialize<'de>"))]
pub(crate) struct Payload<'a, S> {
    #[serde(borrow)]
    pub(crate) request: Option<&'a RawValue>,
    pub(crate) settings: Option<S>,
}

/// The request and the settings of a payload, or the response with the error in it.
pub(crate) fn read(payload: &[u8]) -> Result<(Option<&RawValue>, Box<Settings>), Box<Response>> {
    // Settings are read directly, and again by themselves only after an error, to describe it.
    let (request, settings) = match from_json::<Payload<'_, Value>>(payload) {
        Ok(Payload { request, settings }) => (request, read_settings(&settings.unwrap_or_default())),
        Err(_) => match from_json::<Payload<'_, &RawValue>>(payload) {
            Ok(Payload { request, settings }) => (request, read_raw_settings(settings)),
            Err(error) => {
                return Err(Box::new(Response::unreadable(&UnreadableRequest::NotARequest(error.to_string()))));
            }
        },
    };
    match settings {
        Ok(settings) => Ok((request, settings)),
        Err(error) => Err(Box::new(Response::invalid_settings(&error))),
    }
}

fn read_settings(value: &Value) -> Result<Box<Settings>, InvalidSettings> {
    Settings::read(value).map(Box::new)
}

fn read_raw_settings(raw: Option<&RawValue>) -> Result<Box<Settings>, InvalidSettings> {
    let value = raw.map(|raw| serde_json::from_str(raw.get())).transpose();
    let value = value.map_err(|error| InvalidSettings(vec![format!("settings: they can't be read: {error}")]))?;
    read_settings(&value.unwrap_or_default())
}
