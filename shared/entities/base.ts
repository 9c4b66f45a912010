import { defineEntity, p } from '@mikro-orm/core';
import { newID } from '../core/ids.ts';

export { defineEntity, p };

/** Columns of every stored resource. */
export const identified = {
  id: p
    .uuid()
    .primary()
    .onCreate(() => newID()),
  createdAt: p.datetime().onCreate(() => new Date()),
  updatedAt: p
    .datetime()
    .onCreate(() => new Date())
    .onUpdate(() => new Date()),
};

/** Columns of everything a tenant owns; entities that have them declare `tenantFilter` as well. */
export const owned = {
  ...identified,
  tenantID: p.uuid(),
  creatorID: p.uuid(),
  createdByApiKeyID: p.uuid().nullable(),
  folderID: p.uuid().nullable(),
};

/** Filter of the tenant's rows, on by default. `tenantEntityManager` sets the tenant: a query for another tenant's row finds nothing. */
export const tenantFilter = {
  tenant: { name: 'tenant', cond: (args: { tenantID?: string }) => ({ tenantID: args.tenantID }), default: true },
};
