//! A cluster, asked over the network. Where the real host keeps a watch for every list, this one lists.

use std::error::Error;

use http::Request;
use http::header::DATE;
use image_admission_untrusted::time::Timestamp;
use kube::api::{Api, ListParams, PostParams};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, DynamicObject, TypeMeta};
use kube::{Client, Config};
use serde_json::{Value, json};

use super::super::field_mask::FieldMask;
use super::super::request::{GetResource, ListAll, ListByNamespace};
use super::super::{kubernetes, to_json};

/// How many objects a page of a long list has: as many as kubectl asks for.
const PAGE: u32 = 500;
/// The status of a page whose list is forgotten.
const EXPIRED: u16 = 410;

/// A client of one cluster.
pub(super) struct Cluster {
    client: Client,
}

impl Cluster {
    /// The cluster of the current context of `file`.
    pub(super) async fn configured(file: Kubeconfig) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        Ok(Self { client })
    }

    /// The cluster that `kubectl` would ask, if there is one.
    pub(super) async fn of_the_environment() -> Option<Self> {
        let client = Client::try_default().await.ok()?;
        Some(Self { client })
    }

    /// The answer to `get_resource`.
    pub(super) async fn get(&self, wanted: &GetResource) -> Result<Vec<u8>, String> {
        let GetResource { api_version, kind, name, namespace, field_masks, .. } = wanted;
        let known = self.resource(api_version, kind).await?;
        let api = if known.namespaced {
            let namespace = namespace.as_ref().ok_or_else(|| kubernetes::needs_namespace(api_version, kind))?;
            self.api_in(namespace, &known)
        } else {
            self.api(&known)
        };
        let found = api.get_opt(name).await.map_err(|e| e.to_string())?;
        let object = found.ok_or_else(|| kubernetes::not_found(api_version, kind, name, namespace.as_deref()))?;
        kubernetes::object(object, field_masks.as_ref())
    }

    /// The answer to `list_resources_by_namespace`.
    pub(super) async fn list_in_namespace(&self, wanted: &ListByNamespace) -> Result<Vec<u8>, String> {
        let ListByNamespace { api_version, kind, namespace, .. } = wanted;
        let known = self.resource(api_version, kind).await?;
        if !known.namespaced {
            return Err(kubernetes::is_cluster_wide(api_version, kind));
        }
        let selected = selected(wanted.label_selector.as_ref(), wanted.field_selector.as_ref());
        let api = self.api_in(namespace, &known);
        let list = api.list(&selected).await.map_err(|e| e.to_string())?;
        kubernetes::list(api_version, kind, list.items, wanted.field_masks.as_ref())
    }

    /// The answer to `list_resources_all`.
    pub(super) async fn list_all(&self, wanted: &ListAll) -> Result<Vec<u8>, String> {
        let ListAll { api_version, kind, .. } = wanted;
        let known = self.resource(api_version, kind).await?;
        let selected = selected(wanted.label_selector.as_ref(), wanted.field_selector.as_ref());
        let list = self.api(&known).list(&selected).await.map_err(|e| e.to_string())?;
        kubernetes::list(api_version, kind, list.items, wanted.field_masks.as_ref())
    }

    /// The answer to `can_i`: a SubjectAccessReview, which takes the right to create one.
    pub(super) async fn may(&self, asked: &Value) -> Result<Vec<u8>, String> {
        let field = |key: &str| asked.get(key).cloned().unwrap_or_default();
        let spec = json!({"user": field("user"), "groups": field("groups"), "resourceAttributes": field("resource_attributes")});
        let kind = ApiResource {
            group: "authorization.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "authorization.k8s.io/v1".to_owned(),
            kind: "SubjectAccessReview".to_owned(),
            plural: "subjectaccessreviews".to_owned(),
        };
        let mut review = DynamicObject::new("", &kind).data(json!({"spec": spec}));
        review.metadata.name = None;
        let api = Api::<DynamicObject>::all_with(self.client.clone(), &kind);
        let answer = api.create(&PostParams::default(), &review).await.map_err(|e| e.to_string())?;
        to_json(answer.data.get("status").ok_or("SubjectAccessReview did not return a response")?)
    }

    /// The clock of the API server, as any answer of it has it; none if it doesn't say.
    pub(super) async fn clock(&self) -> Result<Option<Timestamp>, String> {
        let request = Request::get("/version").body(Body::empty()).map_err(|e| e.to_string())?;
        let answer = self.client.send(request).await.map_err(|e| e.to_string())?;
        let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
        Ok(date.and_then(Timestamp::of_http))
    }

    /// Everything of a kind, in one namespace or in all of them, a page at a time, with the fields of the mask if there is one: `read`
    /// hears of each page how many objects it has.
    pub(super) async fn everything(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        mask: Option<&FieldMask>,
        read: &mut dyn FnMut(usize),
    ) -> Result<Vec<DynamicObject>, String> {
        let known = self.resource(api_version, kind).await?;
        let api = match namespace.filter(|_| known.namespaced) {
            Some(namespace) => self.api_in(namespace, &known),
            None => self.api(&known),
        };
        let mut page = ListParams::default().limit(PAGE);
        let mut objects = Vec::new();
        loop {
            let list = match api.list(&page).await {
                // What a page continues is forgotten after some minutes; then everything is listed anew, in one piece.
                Err(kube::Error::Api(status)) if status.code == EXPIRED && page.continue_token.is_some() => {
                    objects.clear();
                    page = ListParams::default();
                    continue;
                }
                list => list.map_err(|error| match error {
                    kube::Error::Api(status) if !status.message.is_empty() => status.message,
                    other => other.to_string(),
                })?,
            };
            read(list.items.len());
            let more = list.metadata.continue_.filter(|token| !token.is_empty());
            // In a list, objects may leave it to the list to say what they are.
            let types = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
            objects.extend(list.items.into_iter().map(|mut object| {
                object.types = Some(types.clone());
                object.metadata.managed_fields = None;
                if let Some(mask) = mask {
                    mask.prune(&mut object.data);
                }
                object
            }));
            match more {
                Some(token) => page = page.continue_token(&token),
                None => return Ok(objects),
            }
        }
    }

    fn api(&self, known: &Known) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &known.resource)
    }

    fn api_in(&self, namespace: &str, known: &Known) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &known.resource)
    }

    /// How the cluster calls a kind in its URLs.
    async fn resource(&self, api_version: &str, kind: &str) -> Result<Known, String> {
        let (group, version) = match api_version {
            "v1" => ("", "v1"),
            other => {
                other.split_once('/').ok_or_else(|| format!("cannot determine group and version for {api_version}"))?
            }
        };
        let served = if group.is_empty() {
            let list = self.client.list_core_api_resources(version).await;
            list.map_err(|e| e.to_string())?
        } else {
            let list = self.client.list_api_group_resources(api_version).await;
            list.map_err(|e| format!("error finding resource {api_version} / {kind}: {e}"))?
        };
        let found = served.resources.into_iter().find(|r| r.kind == kind);
        let found = found.ok_or_else(|| format!("Cannot find resource {api_version}/{kind}"))?;
        Ok(Known {
            resource: ApiResource {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                plural: found.name,
            },
            namespaced: found.namespaced,
        })
    }
}

/// A kind that the cluster serves.
struct Known {
    resource: ApiResource,
    namespaced: bool,
}

fn selected(labels: Option<&String>, fields: Option<&String>) -> ListParams {
    ListParams { label_selector: labels.cloned(), field_selector: fields.cloned(), ..ListParams::default() }
}
