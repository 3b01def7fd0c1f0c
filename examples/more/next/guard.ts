import { createGuard } from '../fetch/adapter';
import { keyring, policy } from '../keys';

export const guard = createGuard({ keyring, policy, realm: 'acme' });
