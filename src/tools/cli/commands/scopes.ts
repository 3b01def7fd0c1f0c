/** `keyscope scopes` */
import { type Call, chooseKeyring } from '../call.js';
import { type Column, tablePrinter } from '../table.js';

interface Row {
  readonly scope: string;
  readonly description: string;
  readonly reserved: boolean;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: 'SCOPE', cell: ({ scope }) => scope },
  { title: 'RESERVED', cell: ({ reserved }) => (reserved ? 'yes' : 'no') },
  { title: 'DESCRIPTION', cell: ({ description }) => description, atLeast: 20 },
];

/** Lists the catalog, in its own order. */
export async function run(call: Call): Promise<undefined> {
  const { catalog } = chooseKeyring(call, await call.config()).keyring;
  const rows = catalog.all.map(
    (scope): Row => ({
      scope,
      description: catalog.describe(scope),
      reserved: catalog.isReserved(scope),
    }),
  );
  await tablePrinter(call.output, COLUMNS)(rows);
}
