import { FakeRepository } from "./fake-repository.ts";
import { changeDefaultBranch } from "./state/branches.ts";
import { install, removeRepository, suspend, uninstall, unsuspend } from "./state/installations.ts";
import type { Account, Actor, Permissions } from "./state/model.ts";
import {
  addRepository,
  deleteRepository,
  type NewRepository,
  ownerPerson,
  renameRepository,
  setArchived,
  transferRepository,
} from "./state/repositories.ts";
import type { World } from "./state/world.ts";

/** The accounts, the repositories, and where the App is installed. */
export class GitHubSite {
  protected readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  // Accounts and repositories

  user(login: string): Account {
    return this.world.account(login, "User");
  }

  /** `bot("ci")` has the login `ci[bot]`. */
  bot(name: string): Account {
    return this.world.account(name.endsWith("[bot]") ? name : `${name}[bot]`);
  }

  organization(login: string, options: { members?: string[] } = {}): Account {
    const account = this.world.account(login, "Organization");
    for (const member of options.members ?? []) {
      account.members.add(this.world.account(member).login.toLowerCase());
    }
    return account;
  }

  mannequin(login: string): Account {
    return this.world.account(login, "Mannequin");
  }

  /** What they wrote stays, with `user: null`. */
  deleteUser(login: string): void {
    this.world.account(login).deleted = true;
  }

  repository(fullName: string, options: NewRepository = {}): FakeRepository {
    return new FakeRepository(this.world, addRepository(this.world, fullName, options));
  }

  /** One that exists, such as a fork. */
  existingRepository(fullName: string): FakeRepository {
    const [owner = "", name = ""] = fullName.split("/");
    const record = this.world.findRepository(owner, name);
    if (!record) throw new Error(`there is no repository ${fullName}`);
    return new FakeRepository(this.world, record);
  }

  renameRepository(repository: FakeRepository, name: string): void {
    renameRepository(this.world, this.ownerOf(repository), repository.record, name);
  }

  transferRepository(repository: FakeRepository, owner: string): void {
    const to = this.world.account(owner, "Organization");
    transferRepository(this.world, this.ownerOf(repository), repository.record, to);
  }

  archive(repository: FakeRepository): void {
    setArchived(this.world, this.ownerOf(repository), repository.record, true);
  }

  unarchive(repository: FakeRepository): void {
    setArchived(this.world, this.ownerOf(repository), repository.record, false);
  }

  deleteRepository(repository: FakeRepository): void {
    deleteRepository(this.world, repository.record);
  }

  changeDefaultBranch(repository: FakeRepository, branch: string): void {
    changeDefaultBranch(this.world, this.ownerOf(repository), repository.record, branch);
  }

  // Installations

  /** Answers the id of the account's installation, which may be new. */
  install(repository: FakeRepository, options: { permissions?: Permissions } = {}): number {
    return install(this.world, repository.record, options.permissions).id;
  }

  /** Takes the repository from the installation, and the last one with the whole installation. */
  uninstall(repository: FakeRepository): void {
    const installation = this.world.installationOf(repository.record);
    if (installation?.repositories.size === 1) uninstall(this.world, installation.account);
    else removeRepository(this.world, repository.record);
  }

  /** `installation_repositories.removed`, though it be the last. */
  removeFromInstallation(repository: FakeRepository): void {
    removeRepository(this.world, repository.record);
  }

  installationId(owner: string): number | null {
    return this.world.installationFor(this.world.account(owner))?.id ?? null;
  }

  suspend(owner: string): void {
    suspend(this.world, this.world.account(owner));
  }

  unsuspend(owner: string): void {
    unsuspend(this.world, this.world.account(owner));
  }

  private ownerOf(repository: FakeRepository): Actor {
    return this.world.actor(ownerPerson(this.world, repository.record.owner).login);
  }
}
