interface DownloadButtonProps {
  readonly label: string
  /** Name of the file. */
  readonly name: string
  readonly text: () => string | Promise<string>
}

/** Saves a text as a file of the person. */
export function DownloadButton({ label, name, text }: DownloadButtonProps) {
  return (
    <button type="button" class="small" onClick={async () => saveFile(name, await text())}>
      {label}
    </button>
  )
}

/** Saves a text as a file. */
export function saveFile(name: string, text: string, type = 'text/plain'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
