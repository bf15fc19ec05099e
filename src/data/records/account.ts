/** The records of an account: the account itself, its API tokens and its voices. */
import * as z from 'zod'
import { isIpRange } from '../../lib/ip-ranges.ts'
import { realGpu } from './gpu-config.ts'

const cents = z.int()
const unixSeconds = z.int()

export const Account = z.strictObject({
  uid: z.string().min(1),
  email: z.string().min(3),
  email_verified: z.boolean().default(true),
  /** Whether the user has completed the account. */
  account_setup: z.boolean().default(true),
  require_email_verified: z.boolean().default(false),
  /** The owner prefix of every model the account deploys: `acme` in `acme/chat`. */
  display_name: z
    .string()
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9_.-]*$/,
      'text of letters, digits, dots, dashes and underscores that begins with a letter or digit',
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
  funds_cents: cents,
  topup: z
    .strictObject({ amount: cents.min(0), threshold: cents.min(0), enabled: z.boolean() })
    .default({ amount: 0, threshold: 0, enabled: false }),
  /** Whether a charge goes through: `good` or `declined`. */
  card: z.enum(['good', 'declined']).default('good'),
  /** GPU quota by type. `null`: unlimited. Default of a missing type: that of the profile. */
  gpu_limits: z.partialRecord(realGpu, z.int().min(0).nullable()).default({}),
})
export type Account = z.infer<typeof Account>

export const ApiToken = z.strictObject({
  token: z.string().regex(/^[A-Za-z0-9_-]+$/, 'text of letters, digits, dashes and underscores'),
  token_id: z.string().min(1),
  name: z.string().min(1),
  created_at: unixSeconds,
  /** Addresses and CIDR ranges, IPv4 or IPv6, that may use the token. An empty list allows every address. */
  allowed_ips: z
    .array(z.string().refine(isIpRange, "an address or a range like '203.0.113.7' or '203.0.113.0/24'"))
    .default([]),
})
export type ApiToken = z.infer<typeof ApiToken>

export const Voice = z.strictObject({
  user_id: z.string(),
  voice_id: z.string(),
  name: z.string(),
  description: z.string().default(''),
  created_at: unixSeconds,
  updated_at: unixSeconds,
})
export type Voice = z.infer<typeof Voice>
