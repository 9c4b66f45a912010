import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: triggers write what its changes cause, and a worker of this version revokes it. */
export class Migration20261125160000_OAuthRevocations extends Migration {
  override up(): void {
    this.failures();
    this.revocations();
  }

  /** What keeps the tokens of a connection from being refreshed, and the notification of it. */
  private failures(): void {
    this.addSql('alter table oauth_connection add column last_error text');
    this.addSql(`
create function notify_oauth_connection_stopped() returns trigger language plpgsql as $$
begin
  insert into notification (tenant_id, user_id, kind, title, description, subject_id, action, action_text)
  select new.tenant_id, new.creator_id, 'connectionStopped',
    left(concat(new.provider, ' (' || coalesce(new.account_email, new.account_subject) || ')'), 200)
      || case new.status when 'broken' then ' must be connected again' else ' cannot be refreshed' end,
    left(new.last_error, 1000), new.id, '../tenants/' || new.tenant_id || '/oauth-connections/' || new.id, 'Show'
  from membership m where m.tenant_id = new.tenant_id and m.user_id = new.creator_id
    and not exists (select from notification n where n.subject_id = new.id and n.read_at is null);
  return null;
exception when others then
  raise warning 'no notification that oauth_connection % has stopped: %', new.id, sqlerrm;
  return null;
end $$`);
    this.addSql(`
create trigger notify_stopped after update of status on oauth_connection for each row
when (old.status <> new.status and new.status <> 'connected') execute function notify_oauth_connection_stopped()`);
    this.addSql(`
create trigger close_notifications after update of status on oauth_connection for each row
when (old.status <> 'connected' and new.status = 'connected') execute function close_notifications()`);
  }

  /** Tokens that no connection has any more and that may still be valid at the provider. They may outlive their tenant. */
  private revocations(): void {
    this.addSql(`
create table oauth_revocation (
  id uuid primary key default gen_random_uuid(),
  tenant_id uuid not null,
  oauth_connection_id uuid not null,
  creator_id uuid not null,
  provider varchar(64) not null,
  account_subject text,
  account_email text,
  tokens text not null,
  attempts integer not null default 0,
  ready_at timestamptz not null default now(),
  created_at timestamptz not null default now()
)`);
    this.addSql('create index oauth_revocation_ready on oauth_revocation (ready_at)');
    this.addSql('create index oauth_revocation_tenant on oauth_revocation (tenant_id)');
    this.addSql('create index oauth_revocation_old on oauth_revocation (created_at)');
    this.addSql(`
create index oauth_connection_account on oauth_connection (provider, account_subject) where account_subject is not null`);
    this.addSql(`
create function note_oauth_revocation() returns trigger language plpgsql as $$
begin
  insert into oauth_revocation (tenant_id, oauth_connection_id, creator_id, provider, account_subject, account_email, tokens)
  values (old.tenant_id, old.id, old.creator_id, old.provider, old.account_subject, old.account_email, old.tokens);
  return null;
end $$`);
    this.addSql(`
create trigger oauth_revocation_deleted after delete on oauth_connection for each row
execute function note_oauth_revocation()`);
    // The tokens of the account before. With the same account, revoking them could end the new grant as well.
    this.addSql(`
create trigger oauth_revocation_replaced after update of tokens on oauth_connection for each row
when (old.account_subject <> new.account_subject) execute function note_oauth_revocation()`);
  }
}
