import { useSession } from '../store/session.ts'

/** Opens the inspector of a thing: a deployment, a node, a request by its position, and so on. */
export function ThingLink({ id, text = id }: { id: string; text?: string }) {
  const { place } = useSession()
  const { value } = place
  return (
    <a class="thing" href={place.link({ ...value, id })}>
      {text}
    </a>
  )
}
