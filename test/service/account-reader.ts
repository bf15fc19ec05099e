/**
 * A reader of the account's money, written from the shapes of the answers alone. It knows no code of the simulator: it
 * gets a `fetch`, an address and a token, as a dashboard would.
 */

interface Checklist {
  account_balance: number
  recent: number
  suspended: boolean
  suspend_reason: string | null
}

interface UsageItem {
  model: { provider: string; model_name: string; task: string; private?: boolean }
  units: number
  rate: number
  cost: number
  pricing_type: string
}

interface UsageMonth {
  period: string
  interval: { fr: number; to: number }
  items: UsageItem[]
  total_cost: number
  invoice_id: string
}

interface Usage {
  months: UsageMonth[]
  initial_month: string
}

type Fetch = (url: string, init: { headers: Record<string, string> }) => Promise<Response>

export class AccountReader {
  readonly #fetch: Fetch
  readonly #token: string

  constructor(fetch: Fetch, token: string) {
    this.#fetch = fetch
    this.#token = token
  }

  /** US dollars that are left. */
  async left(): Promise<number> {
    const { account_balance, recent } = await this.#get<Checklist>('/payment/checklist')
    return -(account_balance + recent)
  }

  /** The same from the record of the user. */
  async leftOfMe(): Promise<number> {
    const { checklist } = await this.#get<{ checklist: Checklist }>('/v1/me?checklist=true')
    return -(checklist.account_balance + checklist.recent)
  }

  /** US dollars that were used since the last invoice. */
  async sinceInvoice(): Promise<number> {
    return (await this.#get<Checklist>('/payment/checklist')).recent
  }

  /** Every month from the opening of the account to the running one, oldest first. */
  async months(): Promise<UsageMonth[]> {
    const { months, initial_month } = await this.#usage('from=current')
    const all = [...months]
    for (let back = 1; all[0]!.period !== initial_month; back++)
      all.unshift(...(await this.#usage(`from=current-${back}`)).months)
    return all
  }

  /** The cost of a window in cents. It may span two months. */
  async cost(fromUnix: number, toUnix: number): Promise<number> {
    const { months } = await this.#usage(`from=${fromUnix}&to=${toUnix}`)
    return months.reduce((sum, { total_cost }) => sum + total_cost, 0)
  }

  /** Cents by name of the model, of all requests of a token in a month. */
  async costOfToken(token: string, period: string): Promise<number> {
    const { months } = await this.#get<Usage>(`/payment/usage/${token}?from=${period}`)
    return months.reduce((sum, { total_cost }) => sum + total_cost, 0)
  }

  async #usage(query: string): Promise<Usage> {
    return this.#get<Usage>(`/payment/usage?${query}`)
  }

  async #get<T>(path: string): Promise<T> {
    const response = await this.#fetch(`https://service.example${path}`, {
      headers: { authorization: `Bearer ${this.#token}` },
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json() as Promise<T>
  }
}
