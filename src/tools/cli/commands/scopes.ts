/** `keyscope scopes` */
import type { Call } from '../call.js';
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
export async function run({ config, output }: Call): Promise<undefined> {
  const { catalog } = await config();
  const rows = catalog.all.map(
    (scope): Row => ({
      scope,
      description: catalog.describe(scope),
      reserved: catalog.isReserved(scope),
    }),
  );
  await tablePrinter(output, COLUMNS)(rows);
}
