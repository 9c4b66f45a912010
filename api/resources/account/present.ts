import type { z } from 'zod';
import type { User as UserEntity } from '#shared/entities/tables/user.ts';
import type { UserConfig as UserConfigEntity } from '#shared/entities/tables/user-config.ts';
import type { User, UserConfig } from './schemas.ts';

export function presentUser(user: UserEntity): z.input<typeof User> {
  const { id, email, firstName, lastName, isDisabled } = user;
  return {
    id,
    userID: id,
    email: email ?? null,
    firstName: firstName ?? null,
    lastName: lastName ?? null,
    isDisabled,
    lastSeen: user.lastSeen?.toISOString() ?? null,
    createdAt: user.createdAt.toISOString(),
    updatedAt: user.updatedAt.toISOString(),
  };
}

export function presentUserConfig(
  owner: { tenantID: string; userID: string },
  stored: Pick<UserConfigEntity, 'config' | 'updatedAt'> | null,
): z.input<typeof UserConfig> {
  return { ...owner, config: stored?.config ?? {}, updatedAt: stored?.updatedAt.toISOString() ?? null };
}
