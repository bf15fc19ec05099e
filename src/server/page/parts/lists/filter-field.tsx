import { useSession } from '../../store/session.ts'

interface FilterFieldProps {
  /** What is filtered: `requests`. */
  readonly of: string
  readonly placeholder: string
  readonly hint?: string | undefined
}

/** The filter of a view. It is a part of the address of the page. */
export function FilterField({ of, placeholder, hint }: FilterFieldProps) {
  const { place } = useSession()
  return (
    <input
      type="search"
      class="filter"
      data-filter
      aria-label={`Filter ${of}`}
      placeholder={`Filter: ${placeholder}`}
      title={hint}
      value={place.value.filter ?? ''}
      onInput={event => place.go({ filter: event.currentTarget.value }, 'replace')}
    />
  )
}
