/** Returns the output of a command that a test calls in this process, and all that the command has written to it. */
export function commandOutput() {
  const written = { out: '', error: '' }
  const output = {
    out: (text: string) => {
      written.out += text
    },
    error: (text: string) => {
      written.error += text
    },
  }
  return { written, output }
}
