/** The fields of each kind of row: just enough to give every operation something to do. */
export const THREAT_STATUSES = ['open', 'investigating', 'resolved', 'dismissed'] as const;
export const CANARY_KINDS = ['document', 'credential', 'link', 'dns'] as const;
export const USER_ROLES = ['viewer', 'analyst', 'admin'] as const;

export interface Row {
  readonly id: string;
  /** ISO 8601 in UTC, like all times here, so that they sort as text. */
  readonly created_at: string;
}

export interface Threat extends Row {
  readonly title: string;
  readonly severity: 'low' | 'medium' | 'high' | 'critical';
  readonly status: (typeof THREAT_STATUSES)[number];
  readonly notes: string;
}

export interface Interaction extends Row {
  readonly decoy_id: string;
  readonly threat_id: string;
  readonly source_ip: string;
  readonly summary: string;
}

export interface Decoy extends Row {
  readonly name: string;
  readonly kind: string;
  readonly software_version: string;
  readonly update_requested_at: string | null;
  readonly status: 'active' | 'decommissioned';
}

/** A trace that leads an intruder to a decoy. */
export interface Breadcrumb extends Row {
  readonly decoy_id: string;
  readonly kind: string;
  readonly location: string;
}

export interface DecoyWithBreadcrumbs extends Decoy {
  readonly breadcrumbs: readonly Breadcrumb[];
}

export interface Canary extends Row {
  readonly name: string;
  readonly kind: (typeof CANARY_KINDS)[number];
  readonly notes: string;
  readonly status: 'active' | 'decommissioned';
}

export interface User extends Row {
  readonly email: string;
  readonly name: string;
  readonly role: (typeof USER_ROLES)[number];
}

/** The rows of each table. */
export interface Tables {
  readonly threats: Threat;
  readonly interactions: Interaction;
  readonly decoys: Decoy;
  readonly breadcrumbs: Breadcrumb;
  readonly canaries: Canary;
  readonly users: User;
}

export type Table = keyof Tables;

/** The columns of each table, without `entity_uuid`, `id` and `created_at`. */
export const COLUMNS: Readonly<Record<Table, readonly string[]>> = {
  threats: ['title', 'severity', 'status', 'notes'],
  interactions: ['decoy_id', 'threat_id', 'source_ip', 'summary'],
  decoys: ['name', 'kind', 'software_version', 'update_requested_at', 'status'],
  breadcrumbs: ['decoy_id', 'kind', 'location'],
  canaries: ['name', 'kind', 'notes', 'status'],
  users: ['email', 'name', 'role'],
};

export interface SourceCount {
  readonly source_ip: string;
  readonly interactions: number;
}

export interface Report {
  readonly generated_at: string;
  readonly threats_by_status: Readonly<Record<string, number>>;
  readonly threats_by_severity: Readonly<Record<string, number>>;
  readonly interactions: number;
  readonly top_sources: readonly SourceCount[];
  readonly decoys_by_status: Readonly<Record<string, number>>;
  readonly canaries_by_status: Readonly<Record<string, number>>;
}
