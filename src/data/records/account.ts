/** The records of an account: the account itself, its API tokens, its SSH keys and its voices. */
import * as z from 'zod'
import { isIpRange } from '../../lib/ip-ranges.ts'
import { findSshKeyProblem } from '../../lib/ssh-public-key.ts'
import { filledText, unixSeconds, withExample } from './examples.ts'
import { realGpu } from './gpu-config.ts'

const cents = z.int()

export const Account = z.strictObject({
  uid: filledText('user_1'),
  email: withExample(z.string().min(3), 'dev@acme.example'),
  email_verified: z.boolean().default(true),
  /** Whether the user has completed the account. */
  account_setup: z.boolean().default(true),
  require_email_verified: z.boolean().default(false),
  /** The owner prefix of every model the account deploys: `acme` in `acme/chat`. */
  display_name: withExample(
    z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
        'text of letters, digits, dots, dashes and underscores that begins with a letter or digit',
      ),
    'acme',
  ),
  /** How the user signs in. */
  provider: z.string().default('email'),
  /** Address of a picture of the user. */
  picture: z.string().nullable().default(null),
  is_admin: z.boolean().default(false),
  /** Default: first_name and last_name. */
  name: z.string().optional(),
  first_name: z.string().default('Robin'),
  last_name: z.string().default('Okafor'),
  country: z.string().default('US'),
  is_business_account: z.boolean().default(true),
  company: z.string().default('Acme'),
  website: z.string().default('https://acme.example'),
  title: z.string().default('Platform engineer'),
  is_team_account: z.boolean().default(false),
  is_team_owner: z.boolean().default(false),
  team_role: z.string().nullable().default(null),
  team_display_name: z.string().nullable().default(null),
  is_team_upgrade_enabled: z.boolean().default(true),
  partner_connection: z
    .strictObject({ user_id: z.string(), team_id: z.string().nullable().default(null), installation_id: z.string() })
    .nullable()
    .default(null),
  /** Whether the account has an address for invoices. */
  billing_address: z.boolean().default(true),
  /** Unpaid invoices, in cents. They do not suspend the account by themselves. */
  overdue_cents: cents.min(0).default(0),
  /** When the account was opened. Default: the first day of the month two months before that of the epoch. */
  created_at: z.iso.datetime({ offset: true }).optional(),
  /** Prepaid funds at the world's epoch, in cents. */
  funds_cents: withExample(cents, 100_000),
  topup: z
    .strictObject({ amount: cents.min(0), threshold: cents.min(0), enabled: z.boolean() })
    .default({ amount: 0, threshold: 0, enabled: false }),
  /** Limit on the use of a billing period, in cents. Null: no limit. */
  spending_limit_cents: cents.min(0).nullable().default(null),
  /** Whether a charge goes through: `good` or `declined`. */
  card: z.enum(['good', 'declined']).default('good'),
  /** GPU quota by type. `null`: unlimited. Default of a missing type: that of the profile. */
  gpu_limits: z.partialRecord(realGpu, z.int().min(0).nullable()).default({}),
  /** Requests in flight per model and API token. Default: that of the profile. */
  rate_limit: z.int().min(0).optional(),
  /** Tokens a minute per model and API token. Default: that of the profile. */
  tpm_rate_limit: z.int().min(0).optional(),
})
export type Account = z.infer<typeof Account>

export const ApiToken = z.strictObject({
  token: withExample(
    z.string().regex(/^[A-Za-z0-9_-]+$/, 'text of letters, digits, dashes and underscores'),
    'my_token',
  ),
  token_id: filledText('token_1'),
  name: filledText('default'),
  created_at: unixSeconds,
  /** Addresses and CIDR ranges, IPv4 or IPv6, that may use the token. An empty list allows every address. */
  allowed_ips: z
    .array(
      withExample(
        z.string().refine(isIpRange, "an address or a range like '203.0.113.7' or '203.0.113.0/24'"),
        '203.0.113.7',
      ),
    )
    .default([]),
})
export type ApiToken = z.infer<typeof ApiToken>

/** A public key of SSH that machines of the account accept. */
export const SshKey = z.strictObject({
  id: filledText('ssh_key_1'),
  name: withExample(z.string().min(1).max(64), 'laptop'),
  /** The line of a `.pub` file: type, base64 and comment. */
  key: withExample(
    z
      .string()
      .refine(text => findSshKeyProblem(text) === undefined, 'a public SSH key, as in the file that ends with .pub'),
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f dev@acme',
  ),
  created_at: unixSeconds,
})
export type SshKey = z.infer<typeof SshKey>

export const Voice = z.strictObject({
  user_id: withExample(z.string(), 'user_1'),
  voice_id: withExample(z.string(), 'voice_1'),
  name: withExample(z.string(), 'Ada'),
  description: z.string().default(''),
  created_at: unixSeconds,
  updated_at: unixSeconds,
})
export type Voice = z.infer<typeof Voice>
