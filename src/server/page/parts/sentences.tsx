/** Sentences about a thing, one a line. */
export function Sentences({ of }: { of: readonly string[] | undefined }) {
  return (
    <ul class="sentences">
      {of?.map(sentence => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )
}
