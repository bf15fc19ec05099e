/** Articles and singulars for provider words in messages. */

/** Letters whose names begin with a vowel: an LLM, an x-api-key. */
const VOWEL_SOUNDING_LETTER = /^[aefhilmnorsx]/i
/** Vowels that sound like a consonant, as in a unit and a one. */
const CONSONANT_SOUNDING_VOWEL = /^(?:uni|us[aeu]|ut[ei]|ur[aiy]|eu|once|one(?![a-z]))/i
/** Letters that are not heard, as in an hour. */
const SILENT_H = /^(?:hour|honest|hono|heir)/i

/** `a` or `an`, by how a word begins when it is spoken. */
export function indefiniteArticle(word: string): 'a' | 'an' {
  const isAbbreviation = /^(?:[A-Z]{2,4}|[A-Za-z])(?![A-Za-z])/.test(word)
  if (isAbbreviation) return VOWEL_SOUNDING_LETTER.test(word) ? 'an' : 'a'
  return SILENT_H.test(word) || (/^[aeiou]/i.test(word) && !CONSONANT_SOUNDING_VOWEL.test(word)) ? 'an' : 'a'
}

/**
 * Returns the singular of a plural, as before another noun. Returns other words unchanged.
 *
 * @example singular('machines') // 'machine'
 */
export function singular(word: string): string {
  if (/(?:ss|us|is)$/i.test(word)) return word
  if (/[a-z]{2}ies$/i.test(word)) return word.replace(/ies$/i, 'y')
  return /(?:x|ss|sh|[^a]ch|tch)es$/i.test(word) ? word.slice(0, -2) : word.replace(/([a-z])s$/i, '$1')
}

/**
 * A word between an article and a noun. One that is named as the noun is not said twice: a repository is no repository
 * repository.
 *
 * @example phrase('machine', 'an ', ' instance') // 'a machine instance'
 */
export function nounPhrase(word: string, article: string | undefined, noun = ''): string {
  const [lastWord = ''] = /[A-Za-z]+$/.exec(word) ?? []
  const isSame = lastWord !== '' && singular(noun.trim()).toLowerCase() === lastWord.toLowerCase()
  const words = isSame ? `${word.slice(0, -lastWord.length)}${noun.trim()}` : `${word}${noun}`
  if (article === undefined) return words
  const newArticle = indefiniteArticle(words)
  return `${article.startsWith('A') ? newArticle.replace('a', 'A') : newArticle} ${words}`
}
