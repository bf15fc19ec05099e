import * as z from 'zod'
import { purpose } from '../../../kernel/random.ts'
import { endpoint } from '../../endpoint.ts'
import { rejectInput } from '../../refusals.ts'

const SESSION = purpose('billing.session')
const MAX_URL = 2_048

export const getBillingPortal = endpoint({
  route: 'GET /payment/billing-portal',
  summary: 'Get the address of the page on which the user manages cards and invoices',
  provenance: 'neighbour',
  assumptions: [
    'url is an https address below billing.service.example, which no server answers',
    'it follows from the seed, the account and return_url: equal requests get equal addresses',
    'return_url is an http or https address of up to 2,048 characters, else 422; url repeats it as a parameter',
  ],
  query: { return_url: z.string().optional() },
  returns: z.object({ url: z.string() }),
  example: { target: '/payment/billing-portal?return_url=https%3A%2F%2Facme.example%2Fbilling' },
  handle: ({ query: { return_url }, world: { chance, store } }) => {
    if (return_url !== undefined && !isWebAddress(return_url)) {
      rejectInput(
        ['query', 'return_url'],
        `Value error, expected an http or https address of up to ${MAX_URL} characters`,
      )
    }
    const key = chance.key('billing', `${store.account.uid}\u0000${return_url ?? ''}`, 0)
    const url = new URL(`https://billing.service.example/session/${chance.letters(24, key, SESSION)}`)
    if (return_url !== undefined) url.searchParams.set('return_url', return_url)
    return { url: url.href }
  },
})

function isWebAddress(text: string): boolean {
  return text.length <= MAX_URL && URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
