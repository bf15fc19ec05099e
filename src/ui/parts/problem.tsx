/** Says what went wrong; nothing without a text. */
export function Problem({ text }: { text: string | undefined }) {
  return text === undefined ? null : <p role="alert">✗ {text}</p>
}
