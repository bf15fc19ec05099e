import type { SimulationContext } from '../context.ts'
import { invalidImageReason } from './weights.ts'

/** A size in the name of a repository, as in chat-13b, mixer-8x7b and tiny-300m. */
const SIZE_IN_NAME = /(?<![a-z0-9.])\d{1,9}(?:x\d{1,9})?(?:\.\d{1,9})?[bm](?![a-z0-9])/i

/**
 * Tells whether the hub has a repository that the fixture may not list. The policy of the fixture decides, else that of
 * the profile. A name with a size always exists below an owner of the fixture.
 */
export function repositoryExists(
  { store, profile }: Pick<SimulationContext, 'store' | 'profile'>,
  repo: string,
): boolean {
  if (store.hub.get(repo) !== undefined) return true
  if (store.hubPolicy !== undefined) return store.hubPolicy === 'estimate'
  if (profile.policies.unknownRepositories === 'estimate') return true
  return SIZE_IN_NAME.test(repo.slice(repo.indexOf('/') + 1)) && isKnownOwner(store, repo.split('/')[0]!)
}

/** Tells whether the fixture has a repository or a catalog model of this owner. */
function isKnownOwner(store: SimulationContext['store'], owner: string): boolean {
  const hasOwner = (name: string) => name.startsWith(`${owner}/`)
  return (
    store.account.display_name === owner ||
    store.hub.all().some(({ repo }) => hasOwner(repo)) ||
    store.models.all().some(({ model_name }) => hasOwner(model_name))
  )
}

/** Returns why a container image cannot be pulled; undefined for one that can, and for the provider's own image. */
export function imageRefusal({ store, profile }: SimulationContext, image: string): string | undefined {
  const invalid = invalidImageReason(image)
  if (invalid !== undefined || image === '' || profile.policies.unknownImages === 'accept') return invalid
  const isKnown = store.images.some(known =>
    known.endsWith('/*') ? image.startsWith(known.slice(0, -1)) : image === known,
  )
  return isKnown ? undefined : `image pull failed: ${JSON.stringify(image)} does not exist`
}
