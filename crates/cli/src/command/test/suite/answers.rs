//! What answers the policy's questions in a case, and which of these answers no case asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image_admission_module_host::answers::files::{ClusterFiles, Files, ImageFile};
use image_admission_module_host::answers::recorded::Recording;
use image_admission_module_host::answers::{AnswerSource, Request};

use super::calls;

/// Where answers come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A list of images, and a folder of Kubernetes objects.
    Files { images: Option<PathBuf>, cluster: Option<PathBuf> },
    /// A recorded session.
    Recording(PathBuf),
}

/// The answers that were read from there.
#[derive(Debug)]
pub(super) enum Answers {
    /// From files.
    Files(Arc<Files>),
    /// From a recorded session.
    Recording(Recording),
}

impl Answers {
    /// Reads the files. Fails with the file's name and what is wrong with it.
    pub(super) fn read(place: &Place) -> Result<Self, String> {
        match place {
            Place::Recording(path) => Recording::from_file(path).map(Self::Recording).map_err(|e| e.to_string()),
            Place::Files { images, cluster } => {
                let cluster = cluster.as_deref().map(ClusterFiles::from_folder).transpose();
                let images = images.as_deref().map(ImageFile::from_file).transpose();
                let files = cluster.and_then(|cluster| Ok(Files::new(cluster, images?)));
                files.map(|files| Self::Files(Arc::new(files))).map_err(|e| e.to_string())
            }
        }
    }

    /// A source for one case: what another case used of a recording is there again.
    pub(super) fn source(&self) -> Arc<dyn AnswerSource> {
        match self {
            Self::Files(files) => Arc::clone(files) as Arc<dyn AnswerSource>,
            Self::Recording(recording) => Arc::new(recording.unused()),
        }
    }

    /// What users of the answers should know: which of them the policy can't believe, and what to do.
    pub(super) fn remark(&self, place: &Place) -> Option<String> {
        match (self, place) {
            (Self::Files(files), Place::Files { images: Some(path), .. }) => files.images()?.remark(path),
            _ => None,
        }
    }

    /// That a request can't be answered at all, which must not pass for an answer that says no.
    pub(super) fn missing(&self, request: &Request, place: &Place) -> Option<String> {
        let call = calls::shown(request);
        match (self, place) {
            (Self::Recording(recording), Place::Recording(path)) if !recording.has(request) => Some(format!(
                "the policy asks `{call}`, which is not in `{}`; record it again with `image-admission run --record`",
                path.display()
            )),
            (Self::Files(files), _) if request.image().is_some() && files.images().is_none() => {
                Some(format!("the policy asks `{call}`, and there is no registry; list its images in `images: FILE`"))
            }
            (Self::Files(files), _) if request.is_about_the_cluster() && files.cluster().is_none() => Some(format!(
                "the policy asks `{call}`, and there is no cluster; give its objects in `cluster: FOLDER`"
            )),
            _ => None,
        }
    }
}

/// Which answers of a suite were asked for.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// By list of images: those that it names, and whether one of the cases asked for it.
    images: BTreeMap<PathBuf, BTreeMap<String, bool>>,
    /// By file of objects.
    objects: BTreeMap<PathBuf, bool>,
    /// By recorded session: what all cases until now left over.
    exchanges: BTreeMap<PathBuf, Vec<String>>,
}

impl Usage {
    /// Takes in what one case asked; `leftovers` is what its source says.
    pub(super) fn add(&mut self, place: &Place, answers: &Answers, requests: &[Request], leftovers: Vec<String>) {
        match (place, answers) {
            (Place::Recording(path), _) => match self.exchanges.get_mut(path) {
                Some(all) => all.retain(|exchange| leftovers.contains(exchange)),
                None => drop(self.exchanges.insert(path.clone(), leftovers)),
            },
            (Place::Files { images, .. }, Answers::Files(files)) => {
                if let (Some(path), Some(list)) = (images, files.images()) {
                    self.add_images(path, list, requests);
                }
                if let Some(cluster) = files.cluster() {
                    self.add_objects(cluster, requests);
                }
            }
            (Place::Files { .. }, Answers::Recording(_)) => {}
        }
    }

    fn add_images(&mut self, path: &Path, list: &ImageFile, requests: &[Request]) {
        let used = self.images.entry(path.to_owned()).or_default();
        for name in list.names() {
            used.entry(name.to_owned()).or_default();
        }
        for name in requests.iter().filter_map(Request::image).flat_map(|image| list.names_behind(image)) {
            used.insert(name.to_owned(), true);
        }
    }

    fn add_objects(&mut self, cluster: &ClusterFiles, requests: &[Request]) {
        for file in cluster.files() {
            self.objects.entry(file.to_owned()).or_default();
        }
        for file in requests.iter().flat_map(|request| cluster.files_behind(request)) {
            self.objects.insert(file.to_owned(), true);
        }
    }

    /// What no case asked for, one in a line.
    pub(super) fn unused(&self) -> Vec<String> {
        let mut unused = Vec::new();
        for (path, images) in &self.images {
            let never = images.iter().filter(|(_, used)| !**used);
            unused.extend(never.map(|(image, _)| format!("`{}`: the image `{image}`", path.display())));
        }
        let never = self.objects.iter().filter(|(_, used)| !**used);
        unused.extend(never.map(|(path, _)| format!("`{}`: none of its objects", path.display())));
        for (path, exchanges) in &self.exchanges {
            unused.extend(exchanges.iter().map(|exchange| format!("`{}`: {exchange}", path.display())));
        }
        unused
    }
}
