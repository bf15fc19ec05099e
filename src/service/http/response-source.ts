/** What a JSON response was made of, for observers and clients in the same process. */

/** The text and the headers of a response, for an observer: reading a response of a server costs more than making it. */
export interface TextSource {
  readonly text: string
  readonly headers: Record<string, string>
}

const SOURCE = Symbol('source')

/** Returns what a JSON response was made of, if its pipeline keeps that, and nothing has replaced the response. */
export function sourceOf(response: Response): TextSource | undefined {
  return (response as { readonly [SOURCE]?: TextSource })[SOURCE]
}

export function keepSource(response: Response, source: TextSource): void {
  ;(response as { [SOURCE]?: TextSource })[SOURCE] = source
}
