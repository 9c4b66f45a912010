import type { Schemas } from '../client/types.ts';

/** What a question is about, in the words of its node. */
export function questionTitle({ collectionConfig, nodeID }: Schemas['CollectionRequest']): string {
  const { title } = collectionConfig;
  return typeof title === 'string' && title !== '' ? title : nodeID;
}

export function questionKind({ collectionType }: Schemas['CollectionRequest']): string {
  return collectionType === 'approval' ? 'Approval' : 'Form';
}
