/** What the page shows, in the fragment of its address, so that back, forward, reload and links work. */
import { signal } from '@preact/signals'

export interface Location {
  /** Name of a view. Default: the first one. */
  readonly view?: string | undefined
  /** Name of a world. Default: `default`. */
  readonly world?: string | undefined
  /** The world that `world` is a fork of, if the fork was made here. */
  readonly origin?: string | undefined
  /** The id whose inspector is open. */
  readonly id?: string | undefined
  /** Settings of the view, such as a filter. */
  readonly [setting: string]: string | undefined
}

export class Place {
  readonly #location = signal<Location>({})

  constructor() {
    this.#read()
    addEventListener('hashchange', () => this.#read())
  }

  /** The current location. Reading it in a component or an effect follows its changes. */
  get value(): Location {
    return this.#location.value
  }

  /** Changes parts of the location. A part that is undefined is removed. Settings stay with the view that has them. */
  go(change: Location, how: 'push' | 'replace' = 'push'): void {
    const before = this.#location.peek()
    const isOtherView = change.view !== undefined && change.view !== before.view
    const kept = isOtherView ? { world: before.world, origin: before.origin, id: before.id } : before
    const hash = toHash({ ...kept, ...change })
    if (hash === location.hash) return
    if (how === 'push') history.pushState(null, '', hash)
    else history.replaceState(null, '', hash)
    this.#read()
  }

  /** Returns the address of a location, for a link. */
  link(change: Location): string {
    const { world, origin } = this.#location.value
    return toHash({ world, origin, ...change })
  }

  #read(): void {
    const [view = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
    this.#location.value = {
      ...(view !== '' && { view: decodeURIComponent(view) }),
      ...Object.fromEntries(new URLSearchParams(query)),
    }
  }
}

function toHash({ view = '', ...settings }: Location): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(settings)) if (value !== undefined && value !== '') query.set(name, value)
  return `#/${encodeURIComponent(view)}${query.size === 0 ? '' : `?${query}`}`
}
