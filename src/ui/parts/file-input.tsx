interface FileInputProps {
  /** Default: the text of the label around it. */
  readonly label?: string
  /** As in the attribute `accept`. */
  readonly accept: string
  readonly class?: string
  readonly open: (file: File | undefined) => Promise<void>
}

/** Opens a file that the person chooses. A file that is dropped is opened by the page itself. */
export function FileInput({ label, open, ...attributes }: FileInputProps) {
  return (
    <input
      {...attributes}
      type="file"
      aria-label={label}
      onChange={event => {
        const input = event.currentTarget
        // The same file can be chosen again after a change.
        void open(input.files?.[0]).then(() => {
          input.value = ''
        })
      }}
    />
  )
}
