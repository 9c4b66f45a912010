import { Migration } from '@mikro-orm/migrations';

export class Migration20261123154500_ImportJobs extends Migration {
  override up(): void {
    // Imports of bundles that the API processes do one after another. The request is deleted when the job has ended.
    this.addSql(`
create table import_job (
  id uuid primary key,
  tenant_id uuid not null,
  creator_id uuid not null,
  created_by_api_key_id uuid,
  is_planned boolean not null,
  -- Sealed, because it may hold secrets of datasources.
  request text,
  -- Of items: how many are saved, of how many that are to be.
  done integer not null default 0,
  total integer,
  attempts integer not null default 0,
  lease_until timestamptz,
  status integer,
  answer jsonb,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz not null default now()
)`);
    this.addSql('create index on import_job (tenant_id, created_at desc, id desc)');
    this.addSql('create index on import_job (created_at) where ended_at is null');
  }
}
