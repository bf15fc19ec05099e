/** How words of somebody's provider stand in sentences of ours: their article, and one of many. */

/** Letters whose names begin with a vowel: an LLM, an x-api-key. */
const SPOKEN = /^[aefhilmnorsx]/i
/** Vowels that sound like a consonant, as in a unit and a one. */
const LIKE_CONSONANT = /^(?:uni|us[aeu]|ut[ei]|ur[aiy]|eu|once|one(?![a-z]))/i
/** Letters that are not heard, as in an hour. */
const UNHEARD = /^(?:hour|honest|hono|heir)/i

/** `a` or `an`, by how a word begins when it is spoken. */
export function articleOf(word: string): 'a' | 'an' {
  const isSpelled = /^(?:[A-Z]{2,4}|[A-Za-z])(?![A-Za-z])/.test(word)
  if (isSpelled) return SPOKEN.test(word) ? 'an' : 'a'
  return UNHEARD.test(word) || (/^[aeiou]/i.test(word) && !LIKE_CONSONANT.test(word)) ? 'an' : 'a'
}

/**
 * One of what a word says many of, which is how a noun stands before another; a word that is no plural as it is.
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
export function phrase(word: string, article: string | undefined, noun = ''): string {
  const [last = ''] = /[A-Za-z]+$/.exec(word) ?? []
  const isSame = last !== '' && singular(noun.trim()).toLowerCase() === last.toLowerCase()
  const said = isSame ? `${word.slice(0, -last.length)}${noun.trim()}` : `${word}${noun}`
  if (article === undefined) return said
  const spelled = articleOf(said)
  return `${article.startsWith('A') ? spelled.replace('a', 'A') : spelled} ${said}`
}
