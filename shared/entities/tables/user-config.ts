import type { JsonObject } from '../../core/json.ts';
import { defineEntity, p, tenantFilter } from '../base.ts';

export const UserConfigSchema = defineEntity({
  name: 'UserConfig',
  tableName: 'user_config',
  filters: tenantFilter,
  properties: {
    tenantID: p.uuid().primary(),
    userID: p.uuid().primary(),
    config: p.json().$type<JsonObject>(),
    updatedAt: p
      .datetime()
      .onCreate(() => new Date())
      .onUpdate(() => new Date()),
  },
});

export class UserConfig extends UserConfigSchema.class {}
UserConfigSchema.setClass(UserConfig);
