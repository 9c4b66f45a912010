import { Migration } from '@mikro-orm/migrations';

/**
 * Old code can run beside it: triggers note what it changes, without saying who did. Each row is a fact for clients that look at a tenant
 * at this moment, and is deleted soon afterwards.
 */
export class Migration20261123061000_AssetChanges extends Migration {
  override up(): void {
    this.addSql(`
create table asset_change (
  id bigint generated always as identity primary key,
  tenant_id uuid not null,
  entity varchar(32) not null,
  asset_id uuid not null,
  action varchar(16) not null,
  version integer,
  changed_by uuid,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null default clock_timestamp() + interval '10 minutes'
)`);
    this.addSql('create index asset_change_recent on asset_change (created_at)');
    this.addSql('create index asset_change_expired on asset_change (expires_at)');
    this.addSql('create index asset_change_tenant on asset_change (tenant_id)');
    // The user is named by the transaction (see `noteActor`). Of a tenant that is being deleted, nothing is noted.
    this.addSql(`
create function note_asset_change() returns trigger language plpgsql as $$
declare
  asset record;
  number integer;
begin
  if tg_op = 'DELETE' then asset := old; else asset := new; end if;
  if asset.tenant_id is null then return null; end if;
  if tg_op = 'DELETE' and exists (select from tenant where id = asset.tenant_id and deleting_at is not null) then
    return null;
  end if;
  if tg_argv[1] = 'versioned' then number := asset.version_number; end if;
  insert into asset_change (tenant_id, entity, asset_id, action, version, changed_by)
  values (asset.tenant_id, tg_argv[0], asset.id,
          case tg_op when 'INSERT' then 'created' when 'DELETE' then 'deleted' else 'updated' end,
          number, nullif(current_setting('gantry.actor', true), '')::uuid);
  return null;
end $$`);
    for (const { table, entity, columns = [], isVersioned = false } of assets) {
      const args = [entity, ...(isVersioned ? ['versioned'] : [])].map((arg) => `'${arg}'`).join(', ');
      const watched = ['updated_at', ...columns];
      const differs = watched.map((column) => `old.${column} is distinct from new.${column}`).join(' or ');
      this.addSql(`
create trigger ${table}_added_or_gone after insert or delete on ${table}
for each row execute function note_asset_change(${args})`);
      // Workers write other columns all the time.
      this.addSql(`
create trigger ${table}_changed after update on ${table}
for each row when (${differs}) execute function note_asset_change(${args})`);
    }
  }
}

/** Columns: those that change without `updated_at`. */
const assets: { table: string; entity: string; columns?: string[]; isVersioned?: true }[] = [
  { table: 'workflow', entity: 'workflow', columns: ['folder_id', 'version_id', 'paused_at', 'is_disabled'] },
  { table: 'data_query', entity: 'dataQuery', columns: ['folder_id'] },
  { table: 'datasource', entity: 'datasource', columns: ['folder_id'] },
  { table: 'cron_job', entity: 'cronJob', columns: ['folder_id', 'paused_at', 'stopped_at'] },
  { table: 'listener', entity: 'listener', columns: ['folder_id', 'status'] },
  { table: 'widget', entity: 'widget', columns: ['folder_id'] },
  { table: 'dashboard', entity: 'dashboard', columns: ['folder_id'], isVersioned: true },
  { table: 'app_page', entity: 'appPage', columns: ['folder_id', 'is_draft'], isVersioned: true },
  { table: 'folder', entity: 'folder', columns: ['parent_folder_id'] },
  { table: 'role', entity: 'role' },
  { table: 'api_key', entity: 'apiKey', columns: ['is_disabled'] },
  { table: 'tenant_variable', entity: 'variable' },
];
