//! Where a list of a registry goes on: `Link`, by RFC 8288 and [the distribution specification][spec].
//!
//! [spec]: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers

use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};

use crate::failure::{Flaw, ReadFailure};

/// The page after one that was asked for at a registry: the same list there, from elsewhere on. None after the last one.
///
/// Fails when it is another list, or at another host: also where the registry sent there itself.
pub(crate) fn next(page: &Url, headers: &HeaderMap) -> Result<Option<Url>, ReadFailure> {
    let Some(target) = link(headers) else { return Ok(None) };
    let next = page.join(target).ok().filter(|next| next.origin() == page.origin() && path(next) == path(page));
    next.map(Some).ok_or(ReadFailure::Invalid(Flaw::Page))
}

/// The value of a parameter of the page after one. GitHub names the list itself otherwise there than it was asked for, so that the
/// parameter is all that is taken. None after the last page.
///
/// Fails when the page after this one has no such parameter.
pub(crate) fn cursor(page: &Url, headers: &HeaderMap, parameter: &str) -> Result<Option<String>, ReadFailure> {
    let Some(target) = link(headers) else { return Ok(None) };
    let next = page.join(target).map_err(|_| ReadFailure::Invalid(Flaw::Page))?;
    let value = next.query_pairs().find(|(name, _)| name == parameter).map(|(_, value)| value.into_owned());
    value.map(Some).ok_or(ReadFailure::Invalid(Flaw::Page))
}

fn link(headers: &HeaderMap) -> Option<&str> {
    headers.get_all(LINK).iter().find_map(|header| target(header.to_str().ok()?))
}

/// The target of the link with the relation `next`.
fn target(header: &str) -> Option<&str> {
    header.split('<').skip(1).filter_map(|link| link.split_once('>')).find_map(|(target, parameters)| {
        let is_next = |parameter: &str| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            name.trim().eq_ignore_ascii_case("rel") && value.trim().trim_matches('"').eq_ignore_ascii_case("next")
        };
        parameters.split([';', ',']).any(is_next).then_some(target)
    })
}

/// The path, with the colon of a digest spelled in one way.
fn path(url: &Url) -> String {
    url.path().replace("%3A", ":").replace("%3a", ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "https://ghcr.io/v2/team/app/referrers/sha256:ab?n=1";

    fn next_of(links: &[&str]) -> Result<Option<String>, ReadFailure> {
        let headers = links.iter().map(|text| (LINK, text.parse().unwrap())).collect();
        Ok(next(&PAGE.parse().unwrap(), &headers)?.map(|url| url.to_string()))
    }

    #[test]
    fn lists_that_go_on() {
        let expected = "https://ghcr.io/v2/team/app/referrers/sha256:ab?last=x";
        for links in [
            &["</v2/team/app/referrers/sha256:ab?last=x>; rel=\"next\""] as &[_],
            &["<https://ghcr.io/v2/team/app/referrers/sha256:ab?last=x>;rel=next"],
            &["<https://ghcr.io:443/v2/team/app/referrers/sha256:ab?last=x>; title=\"a\"; REL=\"Next\""],
            &["<?last=x>; rel=\"next\""],
            &["</v2/elsewhere>; rel=\"first\", <?last=x>; rel=\"next\""],
            &["</v2/elsewhere>; rel=\"first\"", "<?last=x>; rel=\"next\""],
        ] {
            assert_eq!(next_of(links).unwrap().as_deref(), Some(expected), "{links:?}");
        }
        let encoded = next_of(&["</v2/team/app/referrers/sha256%3Aab?last=x>; rel=\"next\""]).unwrap().unwrap();
        assert_eq!(encoded, "https://ghcr.io/v2/team/app/referrers/sha256%3Aab?last=x");
    }

    #[test]
    fn lists_that_end() {
        for links in [&[] as &[_], &["</v2/elsewhere>; rel=\"first\""], &["</v2/elsewhere>"], &["rel=\"next\""]] {
            assert_eq!(next_of(links), Ok(None), "{links:?}");
        }
    }

    #[test]
    fn lists_that_go_on_elsewhere() {
        for link in [
            "<https://elsewhere.test/v2/team/app/referrers/sha256:ab?last=x>; rel=\"next\"",
            "<//elsewhere.test/v2/team/app/referrers/sha256:ab?last=x>; rel=\"next\"",
            "<http://ghcr.io/v2/team/app/referrers/sha256:ab?last=x>; rel=\"next\"",
            "<https://ghcr.io:8443/v2/team/app/referrers/sha256:ab?last=x>; rel=\"next\"",
            "</v2/team/other/referrers/sha256:ab?last=x>; rel=\"next\"",
            "</v2/team/app/referrers/sha256:cd?last=x>; rel=\"next\"",
            "</v2/team/app/referrers/sha256:ab/../../../other/referrers/sha256:ab>; rel=\"next\"",
            "<https://[>; rel=\"next\"",
        ] {
            assert_eq!(next_of(&[link]), Err(ReadFailure::Invalid(Flaw::Page)), "{link}");
        }
    }

    #[test]
    fn lists_that_go_on_from_a_cursor() {
        let cursor_of = |link: &str| {
            let headers = std::iter::once((LINK, link.parse().unwrap())).collect();
            cursor(&PAGE.parse().unwrap(), &headers, "after")
        };
        for (link, expected) in [
            (
                "<https://ghcr.io/repositories/1/attestations/sha256:ab?per_page=16&after=Y3Vyc29y%3D>; rel=\"next\"",
                "Y3Vyc29y=",
            ),
            // Nobody is asked there.
            ("<https://elsewhere.test/?after=b>; rel=\"next\"", "b"),
            ("</?before=a>; rel=\"prev\", <?after=b>; rel=\"next\"", "b"),
        ] {
            assert_eq!(cursor_of(link), Ok(Some(expected.to_owned())), "{link}");
        }
        for link in ["<?before=a>; rel=\"prev\"", "rel=\"next\"", "<?after=b>"] {
            assert_eq!(cursor_of(link), Ok(None), "{link}");
        }
        for link in ["<?page=2>; rel=\"next\"", "<https://[>; rel=\"next\""] {
            assert_eq!(cursor_of(link), Err(ReadFailure::Invalid(Flaw::Page)), "{link}");
        }
    }
}
