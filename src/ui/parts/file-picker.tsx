import { useSignal } from '@preact/signals'

interface FilePickerProps {
  readonly label: string
  /** As in the attribute `accept`. */
  readonly accept: string
  readonly open: (text: string, name: string) => void
}

/** Opens a file that the person chooses or drops. */
export function FilePicker({ label, accept, open }: FilePickerProps) {
  const isOver = useSignal(false)
  const read = async (file: File | undefined) => {
    if (file !== undefined) open(await file.text(), file.name)
  }
  return (
    <label
      class={`file-picker ${isOver.value ? 'over' : ''}`}
      onDragOver={event => {
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={event => {
        event.preventDefault()
        isOver.value = false
        void read(event.dataTransfer?.files[0])
      }}
    >
      {label}{' '}
      <input
        type="file"
        accept={accept}
        onChange={event => {
          const input = event.currentTarget
          void read(input.files?.[0]).then(() => {
            // The same file can be chosen again after a change.
            input.value = ''
          })
        }}
      />
    </label>
  )
}
