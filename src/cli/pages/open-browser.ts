/** Opens a page in the browser of this machine. Without one, the server still serves. */
export async function openInBrowser(url: string): Promise<void> {
  try {
    const { default: open } = await import('open')
    // The process of the browser emits an error later if there is no such program.
    const browser = await open(url)
    browser.on('error', () => sayHowToOpen(url))
    browser.on('exit', code => {
      if (code !== 0 && code !== null) sayHowToOpen(url)
    })
  } catch {
    sayHowToOpen(url)
  }
}

function sayHowToOpen(url: string): void {
  process.stderr.write(`Failed to open a browser: this machine has none that can be started. Open ${url} yourself.\n`)
}
