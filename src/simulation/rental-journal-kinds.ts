import { CONTAINER_LIFECYCLE, HOSTED_LIFECYCLE } from '../data/records/enums.ts'
import { type JournalSection, statusKinds } from './journal-kind.ts'

/** The journal kinds of hosted instances and containers, and of the SSH keys of their machines. */
export const RENTAL_KINDS = {
  'sshKey.added': { meaning: 'An SSH key was added to the account', fields: 'ssh_key_id name' },
  'sshKey.deleted': { meaning: 'An SSH key was deleted', fields: 'ssh_key_id' },
  'hosted.created': { meaning: 'A hosted instance was created', fields: 'name plan_id region' },
  ...statusKinds('hosted', HOSTED_LIFECYCLE),
  'hosted.placed': { meaning: 'It has a machine of this region', fields: 'region' },
  'hosted.deleting': { meaning: 'A deletion replaces a stop in progress' },
  'hosted.crashed': { meaning: 'A command crashed its machine' },
  'hosted.lost': { meaning: 'Its machine was lost; it starts on another', fields: 'reason' },
  'hosted.expanding': { meaning: 'More storage was requested', fields: 'storage_gb' },
  'hosted.expanded': { meaning: 'It has more storage', fields: 'storage_gb' },
  'hosted.renamed': { meaning: 'It has another name', fields: 'name' },
  'container.created': { meaning: 'A container was created', fields: 'name gpu num_gpus' },
  ...statusKinds('container', CONTAINER_LIFECYCLE),
  'container.placed': { meaning: 'It has GPUs of this node', fields: 'node gpus' },
  'container.imagePulled': { meaning: 'It has its image: `fetched`, or `cached` on the node', fields: 'image' },
  'container.renamed': { meaning: 'It has another name', fields: 'name' },
} as const satisfies JournalSection['kinds']
