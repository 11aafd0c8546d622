"""Who calls: bearer tokens and client certificates, made into principals."""

from .authenticator import Authenticator
from .refusals import Refusals
from .settings import AuthSettings, ClientCertificate

__all__ = ["AuthSettings", "Authenticator", "ClientCertificate", "Refusals"]
