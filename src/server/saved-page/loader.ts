/** The first script of a saved page. It unpacks the others and runs them, as far as the policy of the page lets them. */

import { decodeBase64 } from '../../lib/bytes.ts'
import { ELEMENTS, type PageParts } from './parts.ts'

document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => {
  if (effectiveDirective.startsWith('script-src')) showFailure('a script of it was changed')
})

run().catch((error: unknown) => showFailure(error instanceof Error ? error.message : String(error)))

async function run(): Promise<void> {
  if (typeof DecompressionStream !== 'function') throw new Error('this browser is too old to unpack it')
  const parts = JSON.parse(document.getElementById(ELEMENTS.parts)!.textContent!) as PageParts
  for (const part of [parts.tokenizer, parts.code]) {
    if (part === undefined) continue
    const unpacked = new Blob([decodeBase64(part.compressed)]).stream().pipeThrough(new DecompressionStream('deflate'))
    const script = document.createElement('script')
    script.textContent = await new Response(unpacked).text()
    document.head.append(script)
  }
}

function showFailure(problem: string): void {
  const status = document.querySelector('[role=status]')
  if (status === null) return
  status.setAttribute('role', 'alert')
  status.textContent = `Failed to open this page: ${problem}. Save it again, or open it in a current browser.`
}
