import { createGuard } from '../fetch/adapter';
import { keyring } from '../keys';

export const guard = createGuard({ keyring });
