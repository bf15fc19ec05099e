/** Shows JSON, or a text as it is. */
export function JsonView({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  )
}
