/**
 * Words that are not used here, in names, comments, texts and documents. Most are archaic, or idioms that a reader
 * with another first language does not know; the rest are former names of concepts (docs/glossary.md has today's).
 */
export const BANNED_WORDS =
  /\b(?:befall\w*|befell|obey\w*|whoever|whatsoever|whosoever|nobody|somebody|anybody(?! there)|everybody|stranger\w*|misfits?|none the wiser|heed\w*|patience|outlooks?|chronicles?|hence|whence|thence|lest|bidding|cures?|cured|anew|in earnest|unless (?:given|told|said)|(?:is|are) none|(?<![Tt]here )(?:is|are) no (?!longer|further|more|other|better)[a-z]+|of which nothing|can not|doors?|told|stands|demand[A-Z]\w*)\b/gi

/** Files that have such a word for a reason. */
export const EXEMPT_FROM_BANNED_WORDS: Readonly<Record<string, string>> = {
  'tools/tidy/banned-words.ts': 'lists them',
  'test/tools/tidy/checks.test.ts': 'tests the check',
  'src/simulation/inference/text-generator.ts': 'everyday words of generated answers',
}
