/** The product before it has keys: its tables in Drizzle, its queries, and who is signed in. */
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import pg from 'pg';

const organizationId = text('organization_id').notNull();
const projects = pgTable('projects', { id: text().primaryKey(), organizationId, name: text() });
const invoices = pgTable('invoices', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  organizationId,
  amount: integer().notNull(),
});
const sessions = pgTable('sessions', {
  id: text().primaryKey(),
  organizationId,
  email: text().notNull(),
  role: text({ enum: ['admin', 'member'] }).notNull(),
});

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
pool.on('error', console.error); // Without it, pg ends the process when it loses a connection.
export const db = drizzle({ client: pool });

export const projectsOf = (organization: string) =>
  db.select().from(projects).where(eq(projects.organizationId, organization));

export const invoicesOf = (organization: string) =>
  db.select().from(invoices).where(eq(invoices.organizationId, organization));

export async function addInvoice(organization: string, { amount }: { readonly amount: number }) {
  const [invoice] = await db
    .insert(invoices)
    .values({ organizationId: organization, amount })
    .returning();
  return invoice;
}

/** Returns who is signed in, or null. */
export async function personOf(cookie: string | null | undefined) {
  const [, id] = /(?:^|; )sid=([^;]+)/.exec(cookie ?? '') ?? [];
  if (id === undefined) return null;
  const [person] = await db.select().from(sessions).where(eq(sessions.id, id));
  return person ?? null;
}
