"""`DeviceMesh`: the ranks of a job as an array with named dimensions, and a group along each."""

import numpy as np

from .. import from_numpy
from .groups import GroupMember, current_world
from .world import init_process_group, is_initialized, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks as an array: ``DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp"))``.

    All ranks of the job make it together. ``mesh["dp"]`` is this rank's part along that dimension.
    """

    _root: "DeviceMesh | None" = None                      # the mesh that it is a part of

    def __init__(self, device_type, mesh, *, mesh_dim_names=None, backend_override=None, _init_backend=True):
        if not is_initialized():
            init_process_group()
        self.device_type, self._ranks = device_type, np.array(getattr(mesh, "tolist", lambda: mesh)(), np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self._ranks.ndim:
            raise RuntimeError(f"mesh_dim_names has {len(self.mesh_dim_names)} names for a mesh of {self._ranks.ndim} "
                               f"dimensions")
        world = current_world()
        if self._ranks.size > world.size or (self._ranks < 0).any() or (self._ranks >= world.size).any():
            raise RuntimeError(f"Mesh should not be bigger than default world size {world.size}, but found "
                               f"{self._ranks.size} ranks!")
        if np.unique(self._ranks).size != self._ranks.size:
            raise AssertionError("the ranks of a mesh must differ from each other")
        places = np.argwhere(self._ranks == world.rank)
        self._coordinate = places[0].tolist() if len(places) else None
        self._groups = [self._make_group(dim) for dim in range(self._ranks.ndim)]

    def _make_group(self, dim):
        rows = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
        if len(rows) == 1 and rows[0].tolist() == list(range(current_world().size)):
            return current_world().default
        made = [new_group(row.tolist(), sort_ranks=False) for row in rows]
        return next((g for g in made if g is not GroupMember.NON_GROUP_MEMBER), None)

    @property
    def mesh(self):
        """The ranks as a tensor of int64."""
        return from_numpy(self._ranks)

    ndim = property(lambda self: self._ranks.ndim, doc="The number of dimensions.")
    shape = property(lambda self: self._ranks.shape, doc="The size of each dimension.")

    def size(self, mesh_dim=None):
        """The number of ranks, in all or along one dimension."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def _dim(self, name):
        if name is None:
            if self.ndim > 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions: name one of them")
            return 0
        if isinstance(name, str):
            if self.mesh_dim_names is None or name not in self.mesh_dim_names:
                raise KeyError(f"Invalid mesh_dim_name {name}: there are {self.mesh_dim_names}")
            return self.mesh_dim_names.index(name)
        return name

    def get_group(self, mesh_dim=None):
        """The group of this rank along a dimension, a name or a number."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self):
        """The groups of this rank, one for each dimension."""
        return list(self._groups)

    def get_coordinate(self):
        """This rank's place in the mesh, or None."""
        return self._coordinate

    def get_rank(self):
        """This rank's number in the job."""
        return current_world().rank

    def get_local_rank(self, mesh_dim=None):
        """This rank's place along a dimension."""
        return self._coordinate[self._dim(mesh_dim)]

    def __getitem__(self, names):
        names = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._dim(name) for name in names]
        part = object.__new__(DeviceMesh)
        index = [slice(None) if d in dims else self._coordinate[d] for d in range(self.ndim)]
        kept = [d for d in range(self.ndim) if d in dims]
        part._ranks = np.transpose(self._ranks[tuple(index)], [kept.index(d) for d in dims])
        part.device_type, part.mesh_dim_names = self.device_type, names
        part._groups, part._coordinate = [self._groups[d] for d in dims], [self._coordinate[d] for d in dims]
        part._root = self._root or self
        return part

    def __enter__(self):
        current_world().meshes.append(self)
        return self

    def __exit__(self, *exc):
        current_world().meshes.pop()

    @staticmethod
    def from_group(group, device_type, mesh=None, *, mesh_dim_names=None):
        """The mesh of one dimension of an existing group."""
        part = object.__new__(DeviceMesh)
        part._ranks, part.device_type, part.mesh_dim_names = np.array(group.ranks), device_type, mesh_dim_names
        part._groups, part._coordinate = [group], [group.rank()]
        return part

    def __eq__(self, other):
        return (isinstance(other, DeviceMesh) and np.array_equal(self._ranks, other._ranks)
                and (self.device_type, self.mesh_dim_names) == (other.device_type, other.mesh_dim_names))

    def __hash__(self):
        return hash((self._ranks.tobytes(), self.device_type, self.mesh_dim_names))

    def __repr__(self):
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh('{self.device_type}', {self._ranks.tolist()}{names})"


def joined(first, second):
    """The mesh that has the dimensions of both, which are parts of one mesh; RuntimeError if they are not."""
    if first._root is None or first._root is not second._root or set(first.mesh_dim_names) & set(second.mesh_dim_names):
        raise RuntimeError(f"Cannot concatenate DeviceMeshes derived from different device meshs: {first} and {second} "
                           f"must be parts of one mesh with named dimensions, such as mesh['dp'] and mesh['tp']")
    return first._root[first.mesh_dim_names + second.mesh_dim_names]


def current_mesh():
    """The mesh of the innermost ``with mesh:``; RuntimeError outside of one."""
    meshes = current_world().meshes
    if not meshes:
        raise RuntimeError("No device mesh is currently active: give device_mesh, or write `with mesh:` around")
    return meshes[-1]


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """A mesh of all ranks, in order, of shape `mesh_shape`; joins the job first if need be."""
    names = None if mesh_dim_names is None else tuple(mesh_dim_names)
    if names is not None and len(set(names)) != len(names):
        raise RuntimeError(f"Each mesh_dim_name must be unique, got {names}")
    if names is not None and len(names) != len(mesh_shape):
        raise RuntimeError(f"mesh_shape and mesh_dim_names should have same length, got {len(mesh_shape)} and "
                           f"{len(names)}")
    ranks = np.arange(int(np.prod(mesh_shape))).reshape(mesh_shape)
    if not is_initialized():
        init_process_group()
    if ranks.size != current_world().size:
        raise RuntimeError(f"Mesh should not be bigger than default world size {current_world().size}, but found "
                           f"{ranks.size} ranks!")
    return DeviceMesh(device_type, ranks, mesh_dim_names=names)
