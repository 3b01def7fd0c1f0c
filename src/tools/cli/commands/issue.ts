/** `keyscope issue` */
import { authorityOf, type Call } from '../call.js';
import { deliver } from '../deliver.js';
import { readExpiry, readList, readPairs } from '../values.js';

/** Makes a key. Whoever may run this may hand out all of the catalog. */
export async function run(call: Call): Promise<undefined> {
  const { given } = call;
  const entities = readList(given.text('entities') ?? '');
  const authority = { ...authorityOf(call), entities, scopes: 'all' } as const;
  const metadata = given.text('metadata');
  const input = {
    name: given.required('name'),
    scopes: readList(given.required('scopes')),
    expiresAt: readExpiry(given.required('expires'), Date.now()),
    accessibleEntities: entities,
    justification: given.text('justification'),
    metadata: metadata === undefined ? undefined : readPairs(metadata),
  };
  const { keyring } = await call.config();
  await deliver(call, () => keyring.issue(input, authority));
}
