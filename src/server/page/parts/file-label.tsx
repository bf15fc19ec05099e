import type { ComponentChildren } from 'preact'

interface FileLabelProps {
  /** The visible text. */
  readonly children: ComponentChildren
  readonly class?: string
  /** What the input is called. Default: the visible text. */
  readonly label?: string
  /** As in the attribute `accept`. */
  readonly accept: string
  readonly open: (file: File) => Promise<void>
}

/** Opens a file that the person chooses. A file that is dropped is opened by the page itself. */
export function FileLabel({ children, label, accept, open, ...attributes }: FileLabelProps) {
  return (
    <label {...attributes}>
      {children}{' '}
      <input
        type="file"
        aria-label={label}
        accept={accept}
        onChange={event => {
          const input = event.currentTarget
          // The same file can be chosen again after a change.
          void open(input.files![0]!).finally(() => {
            input.value = ''
          })
        }}
      />
    </label>
  )
}
