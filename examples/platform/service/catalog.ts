/** The scopes of the security-deception platform. `users:*` and `*:delete` are reserved. */
import { defineScopes } from 'keyscope';

export const catalog = defineScopes(
  {
    threats: {
      read: 'List and read threats.',
      write: "Update a threat's triage status and notes.",
    },
    interactions: { read: 'List and read interactions captured by decoys.' },
    decoys: {
      read: 'List and read decoys, including their breadcrumbs.',
      update: 'Trigger a decoy software update.',
      delete: 'Decommission a decoy.',
    },
    canaries: {
      read: 'List and read canaries.',
      write: 'Create and update canaries.',
      delete: 'Decommission a canary.',
    },
    reports: { read: 'Export the executive report.' },
    users: {
      read: 'List and read console users.',
      write: 'Create console users.',
      delete: 'Delete console users.',
    },
  },
  { reserved: ['users:*', '*:delete'] },
);
