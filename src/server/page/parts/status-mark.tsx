/** The status of an answer with a glyph, so that it is legible without colours. 0: the client got no answer. */
export function StatusMark({ status }: { status: number }) {
  const [glyph, tone] =
    status === 0 ? ['⚡', 'bad'] : status >= 500 ? ['✗', 'bad'] : status >= 400 ? ['!', 'warn'] : ['✓', 'ok']
  return (
    <span class={`status-mark ${tone}`} title={status === 0 ? 'No answer reached the client' : undefined}>
      <span class="glyph" aria-hidden="true">
        {glyph}
      </span>{' '}
      {status === 0 ? 'lost' : status}
    </span>
  )
}
