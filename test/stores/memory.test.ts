import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, test } from 'vitest';

describe('memory', () => storeContract(test, memoryStore));
