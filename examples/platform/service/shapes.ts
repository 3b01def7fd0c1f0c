/**
 * The shapes of the answers, by their names in the OpenAPI document. In the route table, a handler
 * whose result does not fit its shape does not compile.
 */
import { meSchema } from 'keyscope/schemas';
import { z } from 'zod';
import { CANARY_KINDS, THREAT_STATUSES, USER_ROLES } from './records.ts';

const row = { id: z.uuid(), created_at: z.iso.datetime() };
const state = z.enum(['active', 'decommissioned']);
const counts = z.record(z.string(), z.int());
const page = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.string().nullable() });

const threat = z.object({
  ...row,
  title: z.string(),
  severity: z.enum(['low', 'medium', 'high', 'critical']),
  status: z.enum(THREAT_STATUSES),
  notes: z.string(),
});
const interaction = z.object({
  ...row,
  decoy_id: z.uuid(),
  threat_id: z.uuid(),
  source_ip: z.string(),
  summary: z.string(),
});
const decoy = z.object({
  ...row,
  name: z.string(),
  kind: z.string(),
  software_version: z.string(),
  update_requested_at: z.iso.datetime().nullable(),
  status: state,
});
const breadcrumb = z.object({ ...row, decoy_id: z.uuid(), kind: z.string(), location: z.string() });
const canary = z.object({
  ...row,
  name: z.string(),
  kind: z.enum(CANARY_KINDS),
  notes: z.string(),
  status: state,
});
const user = z.object({ ...row, email: z.email(), name: z.string(), role: z.enum(USER_ROLES) });

export const shapes = {
  Me: meSchema,
  Threat: threat,
  Threats: page(threat),
  Interaction: interaction,
  Interactions: page(interaction),
  Decoy: decoy,
  Decoys: page(decoy),
  Breadcrumb: breadcrumb,
  DecoyWithBreadcrumbs: decoy.extend({ breadcrumbs: z.array(breadcrumb) }),
  Canary: canary,
  Canaries: page(canary),
  User: user,
  Users: page(user),
  Report: z.object({
    generated_at: z.iso.datetime(),
    threats_by_status: counts,
    threats_by_severity: counts,
    interactions: z.int(),
    top_sources: z.array(z.object({ source_ip: z.string(), interactions: z.int() })),
    decoys_by_status: counts,
    canaries_by_status: counts,
  }),
  /** RFC 9457. `error` and `scope` come from the challenge (RFC 6750 §3), if there is one. */
  Problem: z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    error: z.string().optional(),
    scope: z.string().optional(),
  }),
  /** RFC 9728 §2. */
  ProtectedResource: z.object({
    resource: z.string(),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.literal('header')),
    resource_name: z.string(),
  }),
};
