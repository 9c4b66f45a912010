import { quoteLiteral, quoteName } from '../quote.ts';
import type { TenantServer } from '../servers/servers.ts';
import type { OwnDatabase } from './owner-role.ts';

/** A setting that a tenant has given its database or its role. */
export interface OwnerSetting {
  /** The part of ALTER that names the database, the role, or both. */
  target: string;
  name: string;
  value: string;
}

export async function readOwnerSettings(
  { admin }: TenantServer,
  { databaseName, roleName }: Pick<OwnDatabase, 'databaseName' | 'roleName'>,
): Promise<OwnerSetting[]> {
  return (await admin.query<OwnerSetting>(SETTINGS, [databaseName, roleName])).rows;
}

export async function writeOwnerSettings({ admin }: TenantServer, settings: readonly OwnerSetting[]): Promise<void> {
  for (const { target, name, value } of settings) {
    const setting = name
      .split('.')
      .map((part) => quoteName(part))
      .join('.');
    // The server quotes the value, because a list is quoted differently from a word. One statement sets and stores it: a value such as
    // `statement_timeout = 1` would already apply to a second statement.
    const body = `begin perform set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, true); alter ${target} set ${setting} from current; end`;
    await admin.query(`do ${quoteLiteral(body)}`);
  }
}

const SETTINGS = `
select case when s.setrole = 0 then format('database %I', d.datname) when s.setdatabase = 0 then format('role %I', r.rolname)
         else format('role %I in database %I', r.rolname, d.datname) end as target,
  split_part(c, '=', 1) as name, substr(c, strpos(c, '=') + 1) as value
from pg_db_role_setting s cross join unnest(s.setconfig) as c
left join pg_database d on d.oid = s.setdatabase left join pg_roles r on r.oid = s.setrole
where (d.datname = $1 and s.setrole = 0) or r.rolname = $2`;
