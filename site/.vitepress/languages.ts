// Highlighting of the languages of these pages that VitePress doesn't know, or shows otherwise: Rego, PromQL and what a
// terminal shows. They are TextMate grammars, no more than what tells keywords, names, texts and numbers apart.

import type { LanguageRegistration } from "shiki";

const text = { name: "string.quoted.double", match: /"(?:[^"\\]|\\.)*"/.source };
const comment = { name: "comment.line.number-sign", match: /#.*$/.source };
const call = { name: "entity.name.function", match: /\b[a-z_][\w.]*(?=\()/.source };

export const rego: LanguageRegistration = {
  name: "rego",
  scopeName: "source.rego",
  patterns: [
    comment,
    text,
    { name: "string.quoted.other", begin: "`", end: "`" },
    { name: "constant.language", match: /\b(?:true|false|null)\b/.source },
    {
      name: "keyword.control",
      match: /\b(?:package|import|default|not|with|as|some|every|in|if|contains|else)\b/.source,
    },
    call,
    { name: "variable.language", match: /\b(?:input|data)\b/.source },
    { name: "constant.numeric", match: /\b\d+(?:\.\d+)?\b/.source },
    { name: "keyword.operator", match: /:=|[=!<>]=|[=<>|&+*/%-]/.source },
  ],
  repository: {},
};

export const promql: LanguageRegistration = {
  name: "promql",
  scopeName: "source.promql",
  patterns: [
    comment,
    text,
    { name: "constant.numeric", match: /\b\d+(?:\.\d+)?(?:ms|[smhdwy])?\b/.source },
    {
      name: "keyword.control",
      match: /\b(?:by|without|on|ignoring|group_left|group_right|offset|bool|and|or|unless)\b/.source,
    },
    call,
    // An aggregation may name its labels before its argument.
    { name: "entity.name.function", match: /\b(?:sum|min|max|avg|count|topk|bottomk|quantile)\b/.source },
    { name: "keyword.operator", match: /[=!]~|[=!<>]=|[=<>+*/%^-]/.source },
  ],
  repository: {},
};

/** What is typed stands out, with the lines that a backslash continues; what is answered is plain. */
export const terminal: LanguageRegistration = {
  name: "console",
  scopeName: "source.console",
  patterns: [
    {
      begin: /^\s*(\$) /.source,
      end: /(?<!\\)$/.source,
      beginCaptures: { 1: { name: "comment.prompt" } },
      contentName: "markup.bold",
      patterns: [text, { name: "comment.line.number-sign", match: /(?<=\s)# .*$/.source }],
    },
  ],
  repository: {},
};
