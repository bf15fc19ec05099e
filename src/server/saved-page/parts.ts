/** The parts of a saved page that are the same in every one. The build makes them. */

/** A script that the page loads from its own text. */
export interface CompressedScript {
  /** The script, compressed (zlib), in Base64. */
  readonly compressed: string
  /** The SHA-256 of the script in Base64, for the policy of the page. */
  readonly hash: string
}

/** A text that the page contains as it is. */
export interface PlainPart {
  readonly text: string
  /** The SHA-256 of the text in Base64. */
  readonly hash: string
}

export interface PageParts {
  /** Runs the other scripts. */
  readonly loader: PlainPart
  readonly style: PlainPart
  /** The simulator and the control room. */
  readonly code: CompressedScript
  /** The tables that count tokens. Default: the page cannot count tokens. */
  readonly tokenizer?: CompressedScript | undefined
}

/** The names of the elements of a saved page. */
export const ELEMENTS = {
  root: 'app',
  parts: 'saved-parts',
  content: 'saved-content',
  style: 'saved-style',
  loader: 'saved-loader',
} as const

/** The global symbol under which the script of the tokenizer leaves its encoding. */
export const TOKENIZER_KEY = 'modelhost-sim.tokenizer'
